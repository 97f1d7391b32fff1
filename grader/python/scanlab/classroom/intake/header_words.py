"""What the columns of a roster are called in other languages than English: as platforms and offices write them."""

from collections.abc import Mapping

from scanlab.people import letters

HEADERS: Mapping[str, str] = {
    "id": (
        "Matrikelnummer, Matrikel-Nr., Matr.-Nr., Matrikel, ID-Nummer, Studierendennummer, "
        "Numéro d'étudiant, Numéro étudiant, N° étudiant, Numéro d'identification, Matricule, "
        "Matrícula, Número de matrícula, Número de ID, Número de identificación, "
        "Matricola, Numero di matricola, Codice identificativo, Numero ID, "
        "Número de identificação, Número de estudante, Número mecanográfico, "
        "Mã sinh viên, Mã số sinh viên, MSSV, Mã số ID"
    ),
    "name": (
        "Vollständiger Name, Voller Name, Vor- und Nachname, Vorname Nachname, Nachname und Vorname, "
        "Nom complet, Prénom et nom, Nom et prénom, Nom et prénoms, "
        "Nombre completo, Nombre y apellidos, Apellidos y nombre, "
        "Nome completo, Nome e cognome, Cognome e nome, Nome e sobrenome, Nome e apelido, "
        "Họ và tên, Họ tên, Họ và tên đầy đủ, Tên đầy đủ"
    ),
    "first": "Vorname, Vornamen, Rufname, Prénom, Prénoms, Nombre, Nombres, Nome, Nome próprio, Primeiro nome, Tên",
    "last": (
        "Nachname, Familienname, Zuname, Nom, Nom de famille, Apellido, Apellido(s), Cognome, Sobrenome, Apelido, "
        "Apelido(s), Último nome, Họ, Họ và tên đệm"
    ),
    "email": (
        "E-Mail, E-Mail-Adresse, Mailadresse, Courriel, Adresse de courriel, Adresse e-mail, Adresse mail, "
        "Adresse électronique, Correo, Correo electrónico, Dirección de correo, Dirección Email, "
        "Indirizzo email, Posta elettronica, Endereço de e-mail, Correio eletrónico, Correio eletrônico, "
        "Thư điện tử, Địa chỉ email, Địa chỉ thư điện tử"
    ),
    "login": (
        "Benutzername, Benutzerkennung, Kennung, Anmeldename, Nutzername, Nom d'utilisateur, "
        "Nombre de usuario, Usuario, Nome utente, Nome de utilizador, Nome de usuário, Tên đăng nhập, Tên tài khoản"
    ),
}
"""German, French, Spanish, Italian, Portuguese and Vietnamese, by what the column holds."""
OTHER_LANGUAGES: Mapping[str, tuple[str, ...]] = {
    role: tuple(letters(header) for header in headers.split(", ")) for role, headers in HEADERS.items()
}
"""The same as `letters`, by which headers are compared."""
